; Every 32nd element of a part of a slice: a failure is only noted, so there is no copy of the loop. What the front asks is said in terms of
; the loop's limit: LLVM knows of it behind the checks of the part.
@__schism_bailout.0 = external addrspace(3) global i32
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @row(ptr noundef "schism.slice"="0:4" %columns, i64 noundef "schism.length"="0" %columns.len, ptr noundef "schism.slice"="2:4" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %begin, i64 noundef %n, i64 noundef %lane, i32 %group, i1 %never) {
before:
  %row = getelementptr inbounds i32, ptr %columns, i64 %begin
  br i1 %never, label %panic, label %guard
guard:
  %some = icmp ult i64 %lane, %n
  br i1 %some, label %loop, label %end.of.all
loop:
  %k = phi i64 [ %lane, %guard ], [ %k.next, %inside ]
  %sum = phi float [ 0.0, %guard ], [ %sum.next, %inside ]
  %column.at = getelementptr inbounds i32, ptr %row, i64 %k
  %column = load i32, ptr %column.at
  %index = zext i32 %column to i64
  %is.inside = icmp ult i64 %index, %x.len
  br i1 %is.inside, label %inside, label %failed
inside:
  %x.at = getelementptr inbounds float, ptr %x, i64 %index
  %element = load float, ptr %x.at
  %sum.next = fadd float %sum, %element
  %k.next = add i64 %k, 32
  %goes.on = icmp ult i64 %k.next, %n
  br i1 %goes.on, label %loop, label %done
failed:
  store i32 %group, ptr addrspace(3) @__schism_bailout.0
  br label %end.of.all
done:
  br label %end.of.all
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
end.of.all:
  %result = phi float [ 0.0, %guard ], [ %sum.next, %done ], [ poison, %failed ]
  ret float %result
}
; CHECK: %0 = icmp ult i64 %lane, %n
; CHECK: %6 = icmp ule i64 %n, 2305843009213693951
; CHECK: %8 = mul i64 %n, 4
; CHECK: %10 = sub i64 %5, %9
; CHECK: %13 = add i64 %10, %8
; CHECK: br i1 %17, label %loop, label %failed
; CHECK: %23 = call i32 @llvm.umax.i32(i32 %21, i32 %22)
; CHECK-NEXT: %24 = call i32 @llvm.umin.i32(i32 %22, i32 %20)
; CHECK: br i1 %29, label %done, label %failed
; CHECK: failed: ; preds = %27, %loop.preheader
; CHECK: %result = phi float [ 0.000000e+00, %guard ], [ %30, %done ], [ poison, %failed ]
