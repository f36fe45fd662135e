; A store is possible in the same barrier interval.
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @other()

; One work-item may store what another one loads.
define ptx_kernel void @early(ptr addrspace(3) %q, i1 %go) {
begin:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %go, label %more, label %done
more:
  store atomic i32 1, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  br label %done
done:
  %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store atomic i32 %a, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  ret void
}

define ptx_kernel void @calls(ptr addrspace(3) %q, ptr addrspace(1) %p) {
begin:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @other()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store i32 %a, ptr addrspace(1) %p, align 4
  ret void
}

; Whoever calls this may store before.
define i32 @part(ptr addrspace(3) %q) {
begin:
  %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  ret i32 %a
}

; BLESS: the output, line by line
; CHECK: ; Function Attrs: convergent nocallback nounwind
; CHECK-NEXT: declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #0
; CHECK-EMPTY:
; CHECK-NEXT: declare void @other()
; CHECK-EMPTY:
; CHECK-NEXT: define ptx_kernel void @early(ptr addrspace(3) %q, i1 %go) {
; CHECK-NEXT: begin:
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: br i1 %go, label %more, label %done
; CHECK-EMPTY:
; CHECK-NEXT: more: ; preds = %begin
; CHECK-NEXT: store atomic i32 1, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: br label %done
; CHECK-EMPTY:
; CHECK-NEXT: done: ; preds = %more, %begin
; CHECK-NEXT: %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: store atomic i32 %a, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define ptx_kernel void @calls(ptr addrspace(3) %q, ptr addrspace(1) %p) {
; CHECK-NEXT: begin:
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: call void @other()
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: store i32 %a, ptr addrspace(1) %p, align 4
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define i32 @part(ptr addrspace(3) %q) {
; CHECK-NEXT: begin:
; CHECK-NEXT: %a = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
; CHECK-NEXT: ret i32 %a
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { convergent nocallback nounwind }
; CHECK-NEXT: end of violations
