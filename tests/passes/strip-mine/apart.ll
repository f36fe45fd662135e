; A table that continues by 128 bytes: two iterations, if both elements are in one page; the first one's load is made anyway. With two tables, if
; that is so of both.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @lane(ptr addrspace(1) %columns, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
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
  %sum.next = fadd float %sum, %element
  %k.next = add i64 %k, 32
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %wide, ptr null)
  unreachable
done:
  ret float %sum.next
}
define i64 @both(ptr addrspace(1) %columns, ptr addrspace(1) %more.columns, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %column.at = getelementptr inbounds i32, ptr addrspace(1) %columns, i64 %k
  %column = load i32, ptr addrspace(1) %column.at, align 4
  %other.at = getelementptr inbounds i64, ptr addrspace(1) %more.columns, i64 %k
  %other = load i64, ptr addrspace(1) %other.at, align 8
  %wide = zext i32 %column to i64
  %both = add i64 %wide, %other
  %ok = icmp ult i64 %both, %len
  br i1 %ok, label %inside, label %panic
inside:
  %sum.next = add i64 %sum, %both
  %k.next = add i64 %k, -2
  %more = icmp ugt i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %both, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
!0 = !{}
; CHECK: define float @lane
; CHECK: and i32 {{.*}}, 4095
; CHECK: icmp ule i32 {{.*}}, 4092
; CHECK: udiv i32 {{.*}}, 128
; CHECK: icmp ult i32 1, 
; CHECK: load i32, ptr addrspace(1) {{.*}}, align 4
; CHECK: br i1
; CHECK: load i32, ptr addrspace(1) {{.*}}, align 4
; CHECK: phi i32 [ {{.*}} ], [ 0, {{.*}} ]
; CHECK: loop:
; CHECK: define i64 @both
; CHECK: and i32 {{.*}}, 4095
; CHECK: udiv i32 {{.*}}, 8
; CHECK: and i32 {{.*}}, 4095
; CHECK: udiv i32 {{.*}}, 16
; CHECK: load i32
; CHECK: load i64
; CHECK: loop:
