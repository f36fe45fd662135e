; SPEC constant-value: plain 01
; A value for what is no specialization constant is refused.
@plain = constant [1 x i8] c"\00"
define ptr @f() {
  ret ptr @plain
}
; CHECK: the image has no specialization constant `plain`
