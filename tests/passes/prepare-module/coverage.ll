; Counters of a coverage report or a profile count the host's work alone.
@__profn_f = private constant [1 x i8] c"f"
define i32 @f(i32 %x) {
  call void @llvm.instrprof.increment(ptr @__profn_f, i64 1, i32 2, i32 0)
  call void @llvm.instrprof.increment.step(ptr @__profn_f, i64 1, i32 2, i32 1, i64 3)
  call void @llvm.pseudoprobe(i64 1, i64 1, i32 0, i64 -1)
  ret i32 %x
}
; CHECK: define i32 @f(i32 %x)
; CHECK-NEXT: ret i32 %x
declare void @llvm.instrprof.increment(ptr, i64, i32, i32)
declare void @llvm.instrprof.increment.step(ptr, i64, i32, i32, i64)
declare void @llvm.pseudoprobe(i64, i64, i32, i64)
