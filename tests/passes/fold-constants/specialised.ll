; SPEC spec-constant: TILE 8 4 10000000
; SPEC constant-value: TILE 20000000
; SPEC kernel: kernel entry 0 1
; RUN: fold-constants,kernel-reachability,simplify,spec-constants
; From stage 1 to stage 2.
@TILE = constant <{ [8 x i8] }> <{ [8 x i8] c"\10\00\00\00\00\00\00\00" }>, align 4
define i32 @kernel() {
  %tile = load i32, ptr @TILE
  ret i32 %tile
}
; CHECK: ret i32 32
