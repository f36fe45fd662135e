; Local memory is the group's alone, and ends with it. Where nobody reads it, the scalar loop stores again what lanes have stored before
; the one that panics.
; SPEC lanes: 256 8
declare ptr @schism.local_memory(ptr)
declare void @schism.panic(i64) cold
define void @kernel(ptr noalias readonly %in, ptr %group, i64 %len, i64 %begin, i64 %end) {
start:
  %memory = call ptr @schism.local_memory(ptr %group)
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i32, ptr %in, i64 %x
  %value = load i32, ptr %p, align 4
  %q = getelementptr i32, ptr %memory, i64 %x
  store i32 %value, ptr %q, align 4
  %index = zext i32 %value to i64
  %inside = icmp ult i64 %index, %len
  br i1 %inside, label %next, label %panic
panic:
  call void @schism.panic(i64 %x)
  ret void
next:
  %r = getelementptr i32, ptr %q, i64 1000
  store i32 %value, ptr %r, align 4
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: store <8 x i32>
; CHECK: kernel: vectorised: 8 lanes
; What is read there may be what was stored.
define void @reads(ptr noalias readonly %in, ptr %group, i64 %len, i64 %begin, i64 %end) {
start:
  %memory = call ptr @schism.local_memory(ptr %group)
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %q = getelementptr i32, ptr %memory, i64 %x
  %value = load i32, ptr %q, align 4
  %new = add i32 %value, 1
  store i32 %new, ptr %q, align 4
  %index = zext i32 %value to i64
  %inside = icmp ult i64 %index, %len
  br i1 %inside, label %next, label %panic
panic:
  call void @schism.panic(i64 %x)
  ret void
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !2
exit:
  ret void
}
!2 = distinct !{!2, !1}
; CHECK: reads: not vectorised: it has a panic after a store
