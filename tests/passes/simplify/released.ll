; RUN: simplify,device-check,finish-module
; SPEC kernel: kernel entry 0 1
; What nothing uses in the end does not stay in the image.
@dead = internal global i64 5
define void @kernel() {
  br i1 false, label %never, label %end
never:
  store i64 1, ptr @dead
  br label %end
end:
  ret void
}
; CHECK-NOT: @dead
; CHECK: end of violations
