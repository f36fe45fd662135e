; What is not exported may ask.
; SPEC export: g
; CHECK: define i64 @f()
; CHECK: call i64 @__schism_local_id_x()
; CHECK: define i64 @g()
define i64 @f() {
  %id = call i64 @__schism_local_id_x()
  ret i64 %id
}
define i64 @g() {
  ret i64 7
}
declare i64 @__schism_local_id_x()
