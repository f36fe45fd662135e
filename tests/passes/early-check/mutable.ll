; SPEC kernel: kernel entry 0 1
; A static that can change, also when no kernel writes it; one that cannot is fine.
@counter = internal global i64 5
@table = internal constant i64 7
define void @kernel() {
  %v = load i64, ptr @counter
  %w = load i64, ptr @table
  ret void
}
; CHECK: MutableStatic("counter"), chain: ["kernel"]
; CHECK-NEXT: end of violations
