; No two accesses are one.
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

; These stay: accesses that are not aligned, of one place twice, with another access or a barrier between them, of the system's scope, of
; other orders, volatile ones, and those of global memory.
define i32 @kept(ptr addrspace(3) %p, ptr addrspace(3) %other, ptr addrspace(1) %global) {
  %q = getelementptr i8, ptr addrspace(3) %p, i64 4
  %r = getelementptr i8, ptr addrspace(3) %p, i64 8
  %unaligned = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  %unaligned.2 = load atomic i32, ptr addrspace(3) %r syncscope("device") monotonic, align 8
  fence syncscope("block") release
  %twice = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
  %twice.2 = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  %twice.3 = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
  fence syncscope("block") release
  %between = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
  %another = load atomic i32, ptr addrspace(3) %other syncscope("device") monotonic, align 4
  %between.2 = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  fence syncscope("block") release
  %before = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %behind = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  fence syncscope("block") release
  %system = load atomic i32, ptr addrspace(3) %p monotonic, align 8
  %system.2 = load atomic i32, ptr addrspace(3) %q monotonic, align 4
  fence syncscope("block") release
  %acquires = load atomic i32, ptr addrspace(3) %p syncscope("device") acquire, align 8
  %acquires.2 = load atomic i32, ptr addrspace(3) %q syncscope("device") acquire, align 4
  fence syncscope("block") release
  %volatile = load atomic volatile i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
  %volatile.2 = load atomic volatile i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  %global.1 = getelementptr i8, ptr addrspace(1) %global, i64 4
  %of.global = load atomic i32, ptr addrspace(1) %global syncscope("device") monotonic, align 8
  %of.global.2 = load atomic i32, ptr addrspace(1) %global.1 syncscope("device") monotonic, align 4
  ret i32 %twice
}

; BLESS: the output, line by line
; CHECK: ; Function Attrs: convergent nocallback nounwind
; CHECK-NEXT: declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #0
; CHECK-EMPTY:
; CHECK-NEXT: define i32 @kept(ptr addrspace(3) %p, ptr addrspace(3) %other, ptr addrspace(1) %global) {
; CHECK-NEXT: %q = getelementptr i8, ptr addrspace(3) %p, i64 4
; CHECK-NEXT: %r = getelementptr i8, ptr addrspace(3) %p, i64 8
; CHECK-NEXT: %unaligned = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: %unaligned.2 = load atomic i32, ptr addrspace(3) %r syncscope("device") monotonic, align 8
; CHECK-NEXT: fence syncscope("block") release
; CHECK-NEXT: %twice = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
; CHECK-NEXT: %twice.2 = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: %twice.3 = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
; CHECK-NEXT: fence syncscope("block") release
; CHECK-NEXT: %between = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
; CHECK-NEXT: %another = load atomic i32, ptr addrspace(3) %other syncscope("device") monotonic, align 4
; CHECK-NEXT: %between.2 = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: fence syncscope("block") release
; CHECK-NEXT: %before = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: %behind = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: fence syncscope("block") release
; CHECK-NEXT: %system = load atomic i32, ptr addrspace(3) %p monotonic, align 8
; CHECK-NEXT: %system.2 = load atomic i32, ptr addrspace(3) %q monotonic, align 4
; CHECK-NEXT: fence syncscope("block") release
; CHECK-NEXT: %acquires = load atomic i32, ptr addrspace(3) %p syncscope("device") acquire, align 8
; CHECK-NEXT: %acquires.2 = load atomic i32, ptr addrspace(3) %q syncscope("device") acquire, align 4
; CHECK-NEXT: fence syncscope("block") release
; CHECK-NEXT: %volatile = load atomic volatile i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
; CHECK-NEXT: %volatile.2 = load atomic volatile i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: %global.1 = getelementptr i8, ptr addrspace(1) %global, i64 4
; CHECK-NEXT: %of.global = load atomic i32, ptr addrspace(1) %global syncscope("device") monotonic, align 8
; CHECK-NEXT: %of.global.2 = load atomic i32, ptr addrspace(1) %global.1 syncscope("device") monotonic, align 4
; CHECK-NEXT: ret i32 %twice
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { convergent nocallback nounwind }
; CHECK-NEXT: end of violations
