; Assembly at module level belongs to the host.
module asm ".globl thing"
define void @f() {
  ret void
}
; CHECK-NOT: module asm
; CHECK: define void @f()
