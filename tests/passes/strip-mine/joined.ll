; Two tables that go on by the size of their elements: chunks of eight iterations, with two loads of four elements each for the table that is
; loaded before the check, and two for the other behind it.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @row(ptr addrspace(1) %columns, ptr addrspace(1) %values, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
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
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %wide, ptr null)
  unreachable
done:
  ret float %sum.next
}
!0 = !{}
; How many iterations there are is limited, and both tables are in the same place of their chunks.
; CHECK: icmp ult i64 {{.*}}, 1073741824
; CHECK: lshr i64 {{.*}}, 2
; CHECK: icmp eq i64
; CHECK: br i1 {{.*}}, label {{.*}}, label %loop
; CHECK: phi i32
; CHECK: icmp ult i32
; CHECK: load <4 x i32>, ptr addrspace(1) {{.*}}, align 16
; CHECK-NOT: noundef
; CHECK: load <4 x i32>, ptr addrspace(1) {{.*}}, align 16
; CHECK: select i1 {{.*}}, i1 {{.*}}, i1 true
; CHECK: br i1
; CHECK: load <4 x float>, ptr addrspace(1) {{.*}}, align 16
; CHECK: load <4 x float>, ptr addrspace(1) {{.*}}, align 16
; CHECK: br i1
; CHECK: load float, ptr addrspace(1) {{.*}}, align 4, !noundef
; CHECK: phi float [ {{.*}} ], [ poison, {{.*}} ]
; CHECK: fadd float
; CHECK: select i1
; The order of the sums.
; CHECK: fadd float
; CHECK: icmp slt i32
; The loop as it was comes behind a check that fails.
; CHECK: loop:
; CHECK: [ %begin, %before ]
; CHECK: br i1 %ok, label %inside, label
