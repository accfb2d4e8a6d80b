//go:build linux

#include "textflag.h"

// func begin(args *Args, size uintptr, calls *Call, n uintptr, fault *uintptr) (pid, errno uintptr)
//
// What comes after "child" runs in the new process, which has the memory of this one until it executes a program, and the stack of the goroutine that returns meanwhile. So it
// writes nothing but the fault, and calls nothing but the kernel, which keeps all registers but AX, CX and R11.
TEXT ·begin(SB),NOSPLIT|NOFRAME,$0-56
	MOVQ	args+0(FP), DI
	MOVQ	size+8(FP), SI
	MOVQ	calls+16(FP), R13
	MOVQ	n+24(FP), BX
	MOVQ	fault+32(FP), R12
	MOVQ	$435, AX // clone3
	SYSCALL
	TESTQ	AX, AX
	JEQ	child
	CMPQ	AX, $0xfffffffffffff001
	JCC	refused
	MOVQ	AX, pid+40(FP)
	MOVQ	$0, errno+48(FP)
	RET
refused:
	NEGQ	AX
	MOVQ	$0, pid+40(FP)
	MOVQ	AX, errno+48(FP)
	RET

child:
	TESTQ	BX, BX
	JEQ	quit // no call has executed a program
	MOVQ	0(R13), AX
	MOVQ	8(R13), DI
	MOVQ	16(R13), SI
	MOVQ	24(R13), DX
	MOVQ	32(R13), R10
	MOVQ	40(R13), R8
	XORL	R9, R9
	SYSCALL
	CMPQ	56(R13), $0 // Ignore
	JEQ	next
	CMPQ	AX, $0xfffffffffffff001
	JCC	failed
	CMPQ	56(R13), $1 // Succeed
	JEQ	next
	CMPQ	AX, 48(R13) // Equal
	JEQ	next
	MOVQ	$-3, AX // ESRCH
	JMP	failed
next:
	ADDQ	$64, R13
	DECQ	BX
	JMP	child
failed:
	NEGQ	AX
	MOVQ	AX, 0(R12)
quit:
	MOVQ	$253, DI
	MOVQ	$60, AX // exit
	SYSCALL
	JMP	quit

// func limit(resource uintptr, l *Limit) (errno uintptr)
TEXT ·limit(SB),NOSPLIT|NOFRAME,$0-24
	MOVQ	$0, DI
	MOVQ	resource+0(FP), SI
	MOVQ	$0, DX
	MOVQ	l+8(FP), R10
	MOVQ	$302, AX // prlimit64
	SYSCALL
	NEGQ	AX
	MOVQ	AX, errno+16(FP)
	RET
