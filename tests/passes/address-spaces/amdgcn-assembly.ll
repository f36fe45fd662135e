; SPEC target: amdgcn-amd-amdhsa
; SPEC kernel: kernel entry 0 1
; EMIT: assembly
; The GCN code: no flat access is left.
define void @kernel(ptr %in, ptr %out, i64 %i) {
  %from = getelementptr float, ptr %in, i64 %i
  %v = load float, ptr %from
  %to = getelementptr float, ptr %out, i64 %i
  store float %v, ptr %to
  ret void
}
; CHECK: kernel:
; CHECK-NOT: flat_load
; CHECK-NOT: flat_store
; CHECK: global_store_dword
; CHECK-NOT: flat_store
; CHECK: .amdhsa_kernel kernel
