; RUN: simplify,device-check
; SPEC kernel: kernel entry 0 1
; A static that can change is refused also when no kernel writes it or none reads it; one that cannot
; change is fine, and so is one whose use is dead.
@counter = internal global i64 5
@written = internal global i64 5
@dead = internal global i64 5
@table = internal constant i64 7
define void @kernel() {
  %v = load i64, ptr @counter
  %w = load i64, ptr @table
  %s = add i64 %v, %w
  store i64 %s, ptr @written
  br i1 false, label %never, label %end
never:
  store i64 1, ptr @dead
  br label %end
end:
  ret void
}
; CHECK: 2 use(s) of what no device has
; CHECK-NEXT: violation: MutableStatic("counter"), chain: ["kernel"]
; CHECK-NEXT: violation: MutableStatic("written"), chain: ["kernel"]
; CHECK-NEXT: end of violations
