; Relaxed accesses to neighbours in local memory are one, where the first is aligned for all of them. An address that is computed twice is the same one.
define void @swap(ptr addrspace(3) %all, i64 %i) {
  %p = getelementptr i32, ptr addrspace(3) %all, i64 %i
  %same = getelementptr i32, ptr addrspace(3) %all, i64 %i
  %q = getelementptr i8, ptr addrspace(3) %same, i64 4
  %a = load atomic i32, ptr addrspace(3) %p syncscope("device") monotonic, align 8
  %b = load atomic i32, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store atomic i32 %a, ptr addrspace(3) %q syncscope("device") monotonic, align 4
  store atomic i32 %b, ptr addrspace(3) %p syncscope("device") monotonic, align 8
  ret void
}
; CHECK-LABEL: @swap
; CHECK: [[BOTH:%.+]] = call { i32, i32 } asm sideeffect "ld.relaxed.gpu.shared.v2.b32 {$0, $1}, [$2];", "=r,=r,l,~{memory}"(ptr addrspace(3) %p)
; CHECK-DAG: [[A:%.+]] = extractvalue { i32, i32 } [[BOTH]], 0
; CHECK-DAG: [[B:%.+]] = extractvalue { i32, i32 } [[BOTH]], 1
; CHECK-NEXT: call void asm sideeffect "st.relaxed.gpu.shared.v2.b32 [$0], {$1, $2};", "l,r,r,~{memory}"(ptr addrspace(3) %p, i32 [[B]], i32 [[A]])
; CHECK-NEXT: ret void

; Four, the first of which is not the base; doubles in pairs; floats beside integers.
define i32 @kinds(ptr addrspace(3) %p, ptr addrspace(3) %d, ptr addrspace(3) %m, ptr addrspace(1) %to) {
  %p1 = getelementptr i32, ptr addrspace(3) %p, i64 4
  %p2 = getelementptr i32, ptr addrspace(3) %p, i64 5
  %p3 = getelementptr i32, ptr addrspace(3) %p, i64 6
  %p4 = getelementptr i32, ptr addrspace(3) %p, i64 7
  %a = load atomic i32, ptr addrspace(3) %p3 syncscope("block") monotonic, align 4
  %b = load atomic i32, ptr addrspace(3) %p1 syncscope("block") monotonic, align 16
  %c = load atomic i32, ptr addrspace(3) %p2 syncscope("block") monotonic, align 4
  %e = load atomic i32, ptr addrspace(3) %p4 syncscope("block") monotonic, align 4
  %d1 = getelementptr double, ptr addrspace(3) %d, i64 1
  store atomic double 1.0, ptr addrspace(3) %d1 syncscope("block") monotonic, align 8
  store atomic double 2.0, ptr addrspace(3) %d syncscope("block") monotonic, align 16
  %m1 = getelementptr float, ptr addrspace(3) %m, i64 1
  %f = load atomic float, ptr addrspace(3) %m1 syncscope("device") monotonic, align 4
  %i = load atomic i32, ptr addrspace(3) %m syncscope("device") monotonic, align 8
  store float %f, ptr addrspace(1) %to
  %ab = add i32 %a, %b
  %abc = sub i32 %ab, %c
  %abce = xor i32 %abc, %e
  %sum = add i32 %abce, %i
  ret i32 %sum
}
; CHECK-LABEL: @kinds
; CHECK: %1 = getelementptr i8, ptr addrspace(3) %p, i64 16
; CHECK-NEXT: %2 = call { i32, i32, i32, i32 } asm sideeffect "ld.relaxed.cta.shared.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}"(ptr addrspace(3) %1)
; CHECK: call void asm sideeffect "st.relaxed.cta.shared.v2.b64 [$0], {$1, $2};", "l,d,d,~{memory}"(ptr addrspace(3) %d, double 2.000000e+00, double 1.000000e+00)
; CHECK: %7 = call { i32, float } asm sideeffect "ld.relaxed.gpu.shared.v2.b32 {$0, $1}, [$2];", "=r,=f,l,~{memory}"(ptr addrspace(3) %m)

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
