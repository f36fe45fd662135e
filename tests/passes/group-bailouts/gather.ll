; SPEC kernel: kernel entry 0 1
; What is loaded chooses an element, and the group exchanges sums. A failed check is noted, and the group runs the checked copy behind the
; barrier. The address of the sum's place is computed again, and the sum is a phi.
declare i64 @llvm.spv.thread.id.i64(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #0
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent nounwind
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
@shared = external addrspace(3) global [0 x float]
define void @kernel(ptr addrspace(1) %p, ptr addrspace(1) %x, i64 noundef range(i64 0, 2147483648) %len, ptr addrspace(1) %to) {
entry:
  %id = call range(i64 0, 2147483648) i64 @llvm.spv.thread.id.i64(i32 0)
  %tid = call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %index.at = getelementptr i32, ptr addrspace(1) %p, i64 %id
  %index = load i32, ptr addrspace(1) %index.at
  %wide = zext i32 %index to i64
  %is.inside = icmp ult i64 %wide, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %at = getelementptr float, ptr addrspace(1) %x, i64 %wide
  %value = load float, ptr addrspace(1) %at
  %twice = fadd float %value, %value
  %place = getelementptr [0 x float], ptr addrspace(3) @shared, i64 0, i32 %tid
  store atomic float %twice, ptr addrspace(3) %place syncscope("block") monotonic, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = load atomic float, ptr addrspace(3) %place syncscope("block") monotonic, align 4
  %sum = fadd float %other, %twice
  %there = getelementptr float, ptr addrspace(1) %to, i64 %id
  store float %sum, ptr addrspace(1) %there
  ret void
panic:
  call void @__schism_panic(ptr null, i64 %wide, ptr null)
  unreachable
}
attributes #0 = { nounwind willreturn memory(none) }
; CHECK: @__schism_bailout.0 = external addrspace(3) global i32, align 4
; CHECK: %1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
; CHECK-NEXT: %2 = add i32 %1, 1554098974
; CHECK-NEXT: br i1 true, label %entry, label %10
; CHECK: br i1 %is.inside, label %3, label %4
; CHECK: 4: ; preds = %entry
; CHECK-NEXT: store atomic i32 %2, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic, align 4
; CHECK-NEXT: br label %5
; CHECK: %6 = phi float [ %twice, %3 ], [ poison, %4 ]
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: %7 = load atomic i32, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic, align 4
; CHECK-NEXT: %8 = icmp eq i32 %7, %2
; CHECK-NEXT: br i1 %8, label %10, label %inside
; CHECK: inside:
; CHECK-NEXT: %9 = getelementptr [0 x float], ptr addrspace(3) @shared, i64 0, i32 %tid
; CHECK: %sum = fadd float %other, %6
; The checked copy.
; CHECK: 10: ; preds = %5, %0
; CHECK: br i1 %16, label %17, label %25
; CHECK: fence syncscope("block") acq_rel
