; SPEC kernel: kernel entry 0 1
; SPEC kernel: other entry 0 1
; Two arrays of different types, between scalars; the second kernel shares the symbol.
define void @kernel(i64 %n, ptr addrspace(3) noalias align 8 dereferenceable(80) %sums, float %a, ptr addrspace(3) align 256 %tile, ptr readonly %p) #0 {
  %slot = getelementptr double, ptr addrspace(3) %sums, i64 %n
  store double 1.0, ptr addrspace(3) %slot
  store float %a, ptr addrspace(3) %tile
  store ptr %p, ptr %p
  ret void
}
define void @other(ptr addrspace(3) %bytes) {
  store i8 1, ptr addrspace(3) %bytes
  ret void
}
attributes #0 = { nounwind }
; CHECK: @__schism_shared = external addrspace(3) global [0 x i8], align 256
; CHECK: define void @kernel(i64 %n, i32 %sums, float %a, i32 %tile, ptr readonly %p) #0 {
; CHECK-NEXT: %local = getelementptr inbounds i8, ptr addrspace(3) @__schism_shared, i32 %sums
; CHECK-NEXT: %local1 = getelementptr inbounds i8, ptr addrspace(3) @__schism_shared, i32 %tile
; CHECK-NEXT: getelementptr double, ptr addrspace(3) %local, i64 %n
; CHECK: store float %a, ptr addrspace(3) %local1
; CHECK: define void @other(i32 %bytes) {
; CHECK-NEXT: getelementptr inbounds i8, ptr addrspace(3) @__schism_shared, i32 %bytes
