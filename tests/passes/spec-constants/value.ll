; SPEC constant-value: TILE 20000000
; SPEC constant-value: SCALE 0000003f
; The launch's values; a constant with fewer bytes than there is room for is filled up with zeros.
@TILE = externally_initialized constant [8 x i8] c"\10\00\00\00\01\02\03\04", align 8
@SCALE = externally_initialized constant [4 x i8] c"\00\00\80?", align 4
@OTHER = externally_initialized constant [1 x i8] c"\01", align 1
@plain = constant [4 x i8] c"\05\00\00\00", align 4
define i32 @f(i32 %x) {
  %tile = load i32, ptr @TILE
  %r = mul i32 %x, %tile
  ret i32 %r
}
define float @g(float %x) {
  %scale = load float, ptr @SCALE
  %r = fmul float %x, %scale
  ret float %r
}
define i8 @h() {
  %flag = load i8, ptr @OTHER
  ret i8 %flag
}
; CHECK: @TILE = internal constant [8 x i8] c" \00\00\00\00\00\00\00", align 8
; CHECK-NEXT: @SCALE = internal constant [4 x i8] c"\00\00\00?", align 4
; CHECK-NEXT: @OTHER = internal constant [1 x i8] c"\01", align 1
; CHECK-NEXT: @plain = constant [4 x i8]
; CHECK: %r = mul i32 %x, 32
; CHECK: %r = fmul float %x, 5.000000e-01
; CHECK: ret i8 1
