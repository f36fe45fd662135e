; A constant without a value keeps the image's; what reads it folds, and so does the branch on it.
@TILE = externally_initialized constant [8 x i8] c"\10\00\00\00\00\00\00\00", align 8
define i32 @f(i32 %x) {
start:
  %tile = load i32, ptr @TILE
  %large = icmp ugt i32 %tile, 20
  br i1 %large, label %big, label %small
big:
  ret i32 %x
small:
  %r = mul i32 %x, %tile
  ret i32 %r
}
; CHECK: @TILE = internal constant [8 x i8] c"\10\00
; CHECK: define i32 @f(i32 %x)
; CHECK-NOT: load
; CHECK-NOT: br
; CHECK: %r = mul i32 %x, 16
; CHECK-NEXT: ret i32 %r
