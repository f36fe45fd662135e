; SPEC spec-constant: PAIR 32 4 0000000001000000
; SPEC kernel: kernel entry 0 1
; LLVM leaves an expression of an element whose index it does not know. Others become vectors of constants, or what is in them.
@PAIR = externally_initialized constant [32 x i8] zeroinitializer, align 4
@OTHER = external global i8
define void @kernel(ptr %out) {
  store <2 x ptr> insertelement (<2 x ptr> zeroinitializer, ptr @PAIR, i64 ptrtoint (ptr @OTHER to i64)), ptr %out
  store ptr extractelement (<2 x ptr> <ptr @PAIR, ptr null>, i64 ptrtoint (ptr @OTHER to i64)), ptr %out
  store <4 x ptr> splat (ptr @PAIR), ptr %out
  ret void
}
; CHECK: define void @kernel(ptr %out, ptr noalias nonnull readonly align 4 dereferenceable(8) %constants) {
; CHECK-NOT: @PAIR
; CHECK: %1 = insertelement <2 x ptr> zeroinitializer, ptr %PAIR, i64 ptrtoint (ptr @OTHER to i64)
; CHECK-NEXT: store <2 x ptr> %1, ptr %out
; CHECK: extractelement <2 x ptr> %3, i64 ptrtoint (ptr @OTHER to i64)
; CHECK: insertelement <4 x ptr> {{...}}, ptr %PAIR, i64 3
