; SPEC target: nvptx64-nvidia-cuda
; SPEC kernel: kernel entry 0 1
; A kernel's pointers are global. What its type says of them stays.
define void @kernel(ptr noalias readonly align 4 %from, ptr nonnull %to, i64 %i, float %a) #0 {
  %at = getelementptr float, ptr %from, i64 %i
  %v = load float, ptr %at
  %w = fmul float %v, %a
  %into = getelementptr float, ptr %to, i64 %i
  store float %w, ptr %into
  ret void
}
attributes #0 = { nounwind }
; CHECK: target datalayout
; CHECK: define ptx_kernel void @kernel(ptr addrspace(1) noalias readonly align 4 %from, ptr addrspace(1) nonnull %to, i64 %i, float %a) #0
; CHECK-NEXT: getelementptr float, ptr addrspace(1) %from
; CHECK-NEXT: load float, ptr addrspace(1)
; CHECK: store float %w, ptr addrspace(1)
; CHECK-NOT: addrspacecast
; CHECK: attributes #0 = { nounwind
