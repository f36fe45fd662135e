; SPEC spec-constant: PAIR 32 4 0000000001000000
; SPEC kernel: kernel entry 0 1
; Addresses in structures, arrays and vectors of constants, in expressions of vectors, and in an aggregate that an aggregate has.
@PAIR = externally_initialized constant [32 x i8] zeroinitializer, align 4
define void @kernel(ptr %out) {
  store { ptr, i64 } { ptr @PAIR, i64 3 }, ptr %out
  store [2 x { ptr, i64 }] [{ ptr, i64 } { ptr @PAIR, i64 3 }, { ptr, i64 } zeroinitializer], ptr %out
  store <2 x ptr> <ptr @PAIR, ptr null>, ptr %out
  store <2 x ptr> getelementptr (i8, ptr @PAIR, <2 x i64> <i64 0, i64 4>), ptr %out
  store <2 x i64> ptrtoint (<2 x ptr> getelementptr (i8, <2 x ptr> <ptr @PAIR, ptr null>, <2 x i64> <i64 0, i64 4>) to <2 x i64>), ptr %out
  ret void
}
; CHECK: define void @kernel(ptr %out, ptr noalias nonnull readonly align 4 dereferenceable(8) %constants) {
; CHECK-NOT: @PAIR
; CHECK: insertvalue { ptr, i64 } poison, ptr %PAIR, 0
; CHECK: insertvalue [2 x { ptr, i64 }]
; CHECK: insertelement <2 x ptr> poison, ptr %PAIR, i64 0
; CHECK: getelementptr i8, ptr %PAIR, <2 x i64> <i64 0, i64 4>
; CHECK: ptrtoint ptr %PAIR to i64
