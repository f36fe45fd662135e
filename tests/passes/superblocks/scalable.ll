; A choice for each lane of a vector is no condition of a branch.
define <vscale x 4 x i32> @f(<vscale x 4 x i1> %c, <vscale x 4 x i1> %d, <vscale x 4 x i32> %a, <vscale x 4 x i32> %b) {
  %x = select <vscale x 4 x i1> %c, <vscale x 4 x i32> %a, <vscale x 4 x i32> %b, !prof !0
  %y = select <vscale x 4 x i1> %d, <vscale x 4 x i32> %x, <vscale x 4 x i32> %b, !prof !0
  ret <vscale x 4 x i32> %y
}
; CHECK: define <vscale x 4 x i32> @f
; CHECK-NOT: br
; CHECK: ret
!0 = !{!"branch_weights", i32 2000, i32 1}
