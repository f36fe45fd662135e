; SPEC constant: __schism_is_device 0
; A function that reads no constant stays as it is, foldable or not.
@__schism_is_device = global i8 0
define i32 @f() {
  br i1 true, label %a, label %b
a:
  ret i32 1
b:
  ret i32 2
}
; CHECK: br i1 true
