; SPEC constant-value: C 0102
@C = externally_initialized constant [1 x i8] c"\00"
define ptr @f() {
  ret ptr @C
}
; CHECK: the specialization constant `C` has 1 bytes, and its value has 2
