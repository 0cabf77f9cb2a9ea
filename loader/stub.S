/*
 * stub.S - first and last instructions of the loader stub.
 *
 * LAW 1: below the entry's rsp lies nothing of ours when the program starts,
 *   so the stub's C code runs on a scratch mapping that also holds the plan.
 * LAW 2: the program starts with the registers of a fresh exec: all zero but
 *   rsp; its address goes through the red zone, which no signal frame and no
 *   program reads.
 */
#include "stub.h"

	.text
	.balign	8
	.asciz	STUB_PATH
	.balign	8
	.globl _start
	.type _start, @function
_start:
	mov	%rsp, %rbx
	mov	$9, %eax		/* mmap(0, SCRATCH, RW, PRIVATE|ANON) */
	xor	%edi, %edi
	mov	$STUB_SCRATCH, %esi
	mov	$3, %edx
	mov	$0x22, %r10d
	mov	$-1, %r8
	xor	%r9d, %r9d
	syscall
	cmp	$-4096, %rax
	ja	stub_die
	mov	%rbx, %rdi
	mov	%rax, %rsi
	lea	STUB_SCRATCH(%rax), %rsp
	xor	%ebp, %ebp
	call	stub_main
	ud2

/* stub_enter(sp, entry, scratch): unmap the scratch memory and jump. */
	.globl stub_enter
	.type stub_enter, @function
stub_enter:
	mov	%rdi, %rsp
	mov	%rsi, -8(%rsp)
	mov	%rdx, %rdi
	mov	$STUB_SCRATCH, %esi
	mov	$11, %eax		/* munmap */
	syscall
	xor	%eax, %eax
	xor	%ebx, %ebx
	xor	%ecx, %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	xor	%edi, %edi
	xor	%ebp, %ebp
	xor	%r8d, %r8d
	xor	%r9d, %r9d
	xor	%r10d, %r10d
	xor	%r11d, %r11d
	xor	%r12d, %r12d
	xor	%r13d, %r13d
	xor	%r14d, %r14d
	xor	%r15d, %r15d
	cld
	jmp	*-8(%rsp)

/* A fault that no mask and no SIG_IGN holds back: SIGSEGV, as the kernel
 * forces it past exec's point of no return. */
	.globl stub_die
	.type stub_die, @function
stub_die:
	hlt
	jmp	stub_die

	.section .note.GNU-stack, "", @progbits
