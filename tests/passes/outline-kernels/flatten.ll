; SPEC kernel: kernel entry 24 8
; SPEC param: 0 8 8 reference
; SPEC param: 8 8 8 integer
; SPEC param: 16 4 4 float
; SPEC param: 20 1 1 integer
; Captures become parameters, in order, with what is known of them.
define internal void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  ret void
}
; CHECK: define void @kernel(ptr noalias nonnull readonly align 4 %0, i64 %1, float %2, i8 %3)
; CHECK-NEXT: %closure = alloca [24 x i8], align 8
; CHECK: store ptr %0, {{.*}} align 8
; CHECK: store i64 %1, {{.*}} align 8
; CHECK: store float %2, {{.*}} align 8
; CHECK: store i8 %3, {{.*}} align 4
; CHECK: call i64 @__schism_global_id_x()
; CHECK: call void @entry(ptr %closure
; CHECK-NEXT: ret void
