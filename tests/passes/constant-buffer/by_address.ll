; SPEC spec-constant: TILE 32 4 10000000
; SPEC kernel: kernel entry 0 1
@TILE = externally_initialized constant [32 x i8] zeroinitializer, align 4
@table = internal constant [1 x ptr] [ptr @reader]
define void @kernel(i64 %i) {
  %at = getelementptr ptr, ptr @table, i64 %i
  %f = load ptr, ptr %at
  %r = call i32 %f()
  ret void
}
define internal i32 @reader() {
  %tile = load i32, ptr @TILE
  ret i32 %tile
}
; CHECK: `reader` reads specialization constants, and is called through a pointer
