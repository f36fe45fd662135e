; A loop that must not be unrolled stays as it is.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @not_unrolled(ptr addrspace(1) %columns, ptr addrspace(1) %values, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
  %sum = phi float [ 0.0, %before ], [ %sum.next, %inside ]
  %column.at = getelementptr inbounds i32, ptr addrspace(1) %columns, i64 %k
  %column = load i32, ptr addrspace(1) %column.at, align 4, !noundef !0
  %wide = zext i32 %column to i64
  %ok = icmp ult i64 %wide, %len
  br i1 %ok, label %inside, label %panic
inside:
  %x.at = getelementptr inbounds float, ptr addrspace(1) %x, i64 %wide
  %element = load float, ptr addrspace(1) %x.at, align 4, !noundef !0
  %value.at = getelementptr inbounds float, ptr addrspace(1) %values, i64 %k
  %value = load float, ptr addrspace(1) %value.at, align 4
  %product = fmul float %element, %value
  %sum.next = fadd float %sum, %product
  %k.next = add nuw i64 %k, 1
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done, !llvm.loop !1
panic:
  call void @__schism_panic(ptr null, i64 %wide, ptr null)
  unreachable
done:
  ret float %sum.next
}
!0 = !{}
!1 = distinct !{!1, !2, !3}
!2 = !{!"llvm.loop.mustprogress"}
!3 = !{!"llvm.loop.unroll.disable"}
; CHECK: define float @not_unrolled
; CHECK-NOT: <4 x i32>
; CHECK-NOT: phi i32
; CHECK: br i1 %more, label %loop, label %done{{.*}}!llvm.loop
; CHECK: ret float
