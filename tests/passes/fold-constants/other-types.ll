; SPEC constant: C 1
; Only a number is read as the constant's.
@C = external global i8
define float @other() {
  %v = load float, ptr @C
  ret float %v
}
define i8 @number() {
  %v = load i8, ptr @C
  ret i8 %v
}
; CHECK: define float @other
; CHECK: load float, ptr @C
; CHECK: define i8 @number
; CHECK: ret i8 1
