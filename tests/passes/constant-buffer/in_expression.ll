; SPEC spec-constant: PAIR 32 4 0000000001000000
; SPEC kernel: kernel entry 0 1
; The elements of a scalable vector are not known: LLVM has an expression of its own for such a vector.
@PAIR = externally_initialized constant [32 x i8] zeroinitializer, align 4
define void @kernel(ptr %out) {
  store <vscale x 2 x ptr> splat (ptr @PAIR), ptr %out
  ret void
}
; CHECK: a constant expression (`ShuffleVector`) uses the specialization constant `PAIR`
