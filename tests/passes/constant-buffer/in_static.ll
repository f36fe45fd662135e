; SPEC spec-constant: TILE 32 4 10000000
; SPEC kernel: kernel entry 0 1
@TILE = externally_initialized constant [32 x i8] zeroinitializer, align 4
@table = internal constant [1 x ptr] [ptr @TILE]
define ptr @kernel(i64 %i) {
  %at = getelementptr ptr, ptr @table, i64 %i
  ret ptr %at
}
; CHECK: a static refers to the specialization constant `TILE`
