/* preload.S - the library of preload.c, as bytes. */
	.section .rodata
	.globl cost_preload_image, cost_preload_image_end
	.balign 16
cost_preload_image:
	.incbin PRELOAD_FILE
cost_preload_image_end:
	.section .note.GNU-stack,"",@progbits
