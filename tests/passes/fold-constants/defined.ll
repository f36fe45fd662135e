; SPEC spec-constant: TILE 32 8 10000000
; SPEC spec-constant: NOT_HERE 32 8 10000000
; SPEC kernel: kernel entry 0 1
; RUN: fold-constants,kernel-reachability,simplify,remove-refused,capabilities
; A constant of this crate: its declaration's place goes, and no pass folds what reads it.
@place = private constant [4 x i8] c"a.rs"
@TILE = constant <{ [4 x i8], [4 x i8], ptr, [16 x i8] }> <{ [4 x i8] c"\10\00\00\00", [4 x i8] undef, ptr @place, [16 x i8] zeroinitializer }>, align 8
@ordinary = constant i32 5
define void @kernel(ptr %out) {
  %tile = load i32, ptr @TILE
  %five = load i32, ptr @ordinary
  %sum = add i32 %tile, %five
  store i32 %sum, ptr %out
  ret void
}
; CHECK-NOT: @place
; CHECK: @TILE = {{.*}}externally_initialized constant [32 x i8] c"\10\00\00\00\00\00\00\00\00{{.*}}\00", align 8
; CHECK-NOT: @place
; CHECK: define void @kernel(
; CHECK-NEXT: %tile = load i32, ptr @TILE
; CHECK-NEXT: %sum = add i32 %tile, 5
; CHECK: kernel kernel: spec-constant=TILE
; CHECK-NEXT: end of violations
