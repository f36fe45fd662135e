; A loop counted to a constant, or one with several loads, gets a hint by its size; one that may panic, calls something or is not counted so
; gets none.
declare void @panic() cold noreturn nounwind
declare void @other()

define float @counted(float %c) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %x = phi float [ 0.0, %begin ], [ %z, %loop ]
  %y = fmul float %x, %x
  %z = fadd float %y, %c
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done
done:
  ret float %z
}

define void @panics(i32 %len) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %go ]
  %in = icmp ult i32 %k, %len
  br i1 %in, label %go, label %panic
go:
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done
done:
  ret void
panic:
  call void @panic()
  unreachable
}

define void @calls() {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  call void @other()
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @to_a_variable(i32 %n) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @to_little() {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %next = add i32 %k, 1
  %more = icmp ne i32 %next, 32
  br i1 %more, label %loop, label %done
done:
  ret void
}

define float @loads(ptr %from, ptr %end, ptr %weights) {
begin:
  br label %loop
loop:
  %at = phi ptr [ %from, %begin ], [ %next, %loop ]
  %x = phi float [ 0.0, %begin ], [ %z, %loop ]
  %y = load float, ptr %at
  %v = load float, ptr %weights
  %w = fmul float %y, %v
  %z = fadd float %x, %w
  %next = getelementptr float, ptr %at, i64 1
  %last = icmp eq ptr %next, %end
  br i1 %last, label %done, label %loop
done:
  ret float %z
}

define float @follows(ptr %from) {
begin:
  br label %loop
loop:
  %at = phi ptr [ %from, %begin ], [ %next, %loop ]
  %next = load ptr, ptr %at
  %last = icmp eq ptr %next, %at
  br i1 %last, label %done, label %loop
done:
  ret float 0.0
}

define float @loads_little(ptr %from, ptr %weights) {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %x = phi float [ 0.0, %begin ], [ %z, %loop ]
  %at = getelementptr float, ptr %from, i64 %k
  %y = load float, ptr %at
  %w = load float, ptr %weights
  %yw = fmul float %y, %w
  %z = fadd float %x, %yw
  %next = add i64 %k, 1
  %last = icmp eq i64 %next, 32
  br i1 %last, label %done, label %loop
done:
  ret float %z
}
; CHECK: define float @counted
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !0
; CHECK: define void @panics
; CHECK-NOT: !llvm.loop
; CHECK: define float @loads
; CHECK: br i1 %last, label %done, label %loop, !llvm.loop !2
; CHECK: define float @follows
; CHECK-NOT: !llvm.loop
; CHECK: ret float 0.0
; CHECK-NOT: !llvm.loop
; CHECK: ret float %z
; CHECK: !0 = distinct !{!0, !1}
; CHECK-NEXT: !1 = !{!"llvm.loop.unroll.count", i32 16}
