; An exported function cannot ask for what the container says of kernels. Another may.
; SPEC export: f
; SPEC export: g
; SPEC spec-constant: CONSTANT 8 8 0000000000000000
; CHECK: violation: OfKernels("__schism_local_id_x")
; CHECK: violation: OfKernels("CONSTANT")
; CHECK-NOT: __schism_global_id_x
; CHECK: end of violations
@CONSTANT = externally_initialized constant [8 x i8] zeroinitializer
define i64 @f() {
  %id = call i64 @helper()
  %constant = load i64, ptr @CONSTANT
  %sum = add i64 %id, %constant
  ret i64 %sum
}
define internal i64 @helper() {
  %id = call i64 @__schism_local_id_x()
  ret i64 %id
}
define i64 @g() {
  %id = call i64 @__schism_global_id_x()
  ret i64 %id
}
declare i64 @__schism_local_id_x()
declare i64 @__schism_global_id_x()
