; One loop inside of another, and one that the kernel's author wants unrolled by two.
; CHECK: br i1 %more.inner, label %inner, label %next, !llvm.loop !{{...}}
; CHECK: br i1 %more.outer, label %outer, label %last, !llvm.loop !{{...}}
; CHECK: br i1 %more.last, label %last, label %done, !llvm.loop !{{...}}
; CHECK: "llvm.loop.unroll.runtime.disable"
; CHECK: "llvm.loop.unroll.count", i32 2

define void @k(ptr %to, i64 %n, i64 %m) {
begin:
  br label %outer
outer:
  %i = phi i64 [ 0, %begin ], [ %i.next, %next ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %at = getelementptr i64, ptr %to, i64 %j
  store i64 %i, ptr %at
  %j.next = add i64 %j, 1
  %more.inner = icmp ult i64 %j.next, %m
  br i1 %more.inner, label %inner, label %next
next:
  %i.next = add i64 %i, 1
  %more.outer = icmp ult i64 %i.next, %n
  br i1 %more.outer, label %outer, label %last
last:
  %k = phi i64 [ 0, %next ], [ %k.next, %last ]
  %there = getelementptr i64, ptr %to, i64 %k
  store i64 %k, ptr %there
  %k.next = add i64 %k, 1
  %more.last = icmp ult i64 %k.next, %n
  br i1 %more.last, label %last, label %done, !llvm.loop !0
done:
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 2}
