; SPEC kernel: kernel entry 0 1
; Reached through a table of functions.
@table = internal constant [1 x ptr] [ptr @write]
define void @kernel() {
  %f = load ptr, ptr @table
  %r = call i64 %f(i32 1)
  ret void
}
declare i64 @write(i32)
; CHECK: ExternalFunction("write"), chain: ["kernel"]
; CHECK-NEXT: end of violations
