; A constant that is fixed at build time.
@TILE = constant [8 x i8] c"\10\00\00\00\00\00\00\00", align 8
define i32 @f(i32 %x) {
  %tile = load i32, ptr @TILE
  %r = mul i32 %x, %tile
  ret i32 %r
}

; BLESS: the output, line by line
; CHECK: @TILE = constant [8 x i8] c"\10\00\00\00\00\00\00\00", align 8
; CHECK-EMPTY:
; CHECK-NEXT: define i32 @f(i32 %x) {
; CHECK-NEXT: %tile = load i32, ptr @TILE, align 4
; CHECK-NEXT: %r = mul i32 %x, %tile
; CHECK-NEXT: ret i32 %r
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
