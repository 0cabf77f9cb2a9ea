/*
 * sites.S - the guest's call sites, and where patched ones go.
 *
 * A site is as libc has them: mov $nr,%eax; syscall. The thunks keep all
 * registers that a system call keeps, as a gate in foreign code would have to.
 */
#include <asm/unistd.h>

	.text
.macro site name nr
	.globl \name
	.type \name, @function
	.balign 64
\name:
	mov %rcx, %r10
\name\()_patch:
	.globl \name\()_patch
	mov $\nr, %eax
	syscall
	ret
	.size \name, . - \name
.endm

	site cost_site_getppid __NR_getppid
	site cost_site_stat __NR_newfstatat
	site cost_site_open __NR_openat

.macro thunk name nr back
	.globl \name
	.type \name, @function
	.balign 64
\name:
	lea -128(%rsp), %rsp	/* the red zone */
	push %rbp
	mov %rsp, %rbp
	push %rdi
	push %rsi
	push %rdx
	push %r8
	push %r9
	push %r10
	and $-16, %rsp
	/* the arguments, in the order of the call's registers */
	sub $48, %rsp
	mov %rdi, 0(%rsp)
	mov %rsi, 8(%rsp)
	mov %rdx, 16(%rsp)
	mov %r10, 24(%rsp)
	mov %r8, 32(%rsp)
	mov %r9, 40(%rsp)
	mov $\nr, %edi
	mov %rsp, %rsi
	call *cost_gate(%rip)
	lea -48(%rbp), %rsp
	pop %r10
	pop %r9
	pop %r8
	pop %rdx
	pop %rsi
	pop %rdi
	pop %rbp
	lea 128(%rsp), %rsp
	jmp \back\()_patch + 7	/* past the syscall */
	.size \name, . - \name
.endm

	thunk cost_thunk_getppid __NR_getppid cost_site_getppid
	thunk cost_thunk_stat __NR_newfstatat cost_site_stat

	.section .note.GNU-stack,"",@progbits
