; Two columns on each side are borders: the loop is cut, as where a condition alone decides.
; SPEC lanes: 256 8
define void @kernel(ptr noalias %from, ptr noalias %to, i1 %outside, i64 %width, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %at = getelementptr inbounds float, ptr %from, i64 %x
  br i1 %outside, label %next, label %inside
inside:
  %is.left = icmp ult i64 %x, 2
  %is.right = icmp uge i64 %x, %width
  %is.border = select i1 %is.left, i1 true, i1 %is.right
  br i1 %is.border, label %next, label %blur
blur:
  %left = getelementptr i8, ptr %at, i64 -8
  %right = getelementptr i8, ptr %at, i64 8
  %a = load float, ptr %left, align 4
  %b = load float, ptr %right, align 4
  %c = fadd float %a, %b
  br label %next
next:
  %e = phi float [ %c, %blur ], [ 0.0, %inside ], [ 1.0, %item ]
  %p = getelementptr float, ptr %to, i64 %x
  store float %e, ptr %p, align 4
  %x.after = add nuw nsw i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: %split
; CHECK: split.rest
; CHECK-NOT: masked
; CHECK: kernel: vectorised: 8 lanes
; CHECK-NOT: masked
