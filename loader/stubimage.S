/* stubimage.S - embeds the linked stub; STUB_FILE comes from stub.mk. */
	.section .rodata
	.globl stub_image
	.type stub_image, @object
	.balign 16
stub_image:
	.incbin STUB_FILE
.Lend:
	.size stub_image, .Lend - stub_image
	.balign 8
	.globl stub_image_size
	.type stub_image_size, @object
stub_image_size:
	.quad .Lend - stub_image
	.size stub_image_size, 8
	.section .note.GNU-stack, "", @progbits
