; SPEC kernel: kernel entry 0 1
; Tiles of the size of the group, which is known: the number of tiles counts down, and the first element of each goes up. No overflow, and
; the last element of the last tile, decide.
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define void @kernel(ptr noundef %p, i64 noundef %len) "schism.block"="256,1,1" {
entry:
  %lane.32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext nneg i32 %lane.32 to i64
  %whole = lshr i64 %len, 8
  %rest = and i64 %len, 255
  %is.rest = icmp ne i64 %rest, 0
  %one = zext i1 %is.rest to i64
  %tiles = add nuw nsw i64 %whole, %one
  %none = icmp eq i64 %tiles, 0
  br i1 %none, label %done, label %loop.before
loop.before:
  br label %loop
loop:
  %left = phi i64 [ %tiles, %loop.before ], [ %left.next, %inside ]
  %first = phi i64 [ 0, %loop.before ], [ %first.next, %inside ]
  %at = add i64 %first, %lane
  %is.inside = icmp ult i64 %at, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %place = getelementptr float, ptr %p, i64 %at
  store float 1.0, ptr %place
  %first.next = add i64 %first, 256
  %left.next = add i64 %left, -1
  %is.last = icmp eq i64 %left.next, 0
  br i1 %is.last, label %done, label %loop
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
}
; CHECK: %{{...}} = mul i64 %{{...}}, 256
; CHECK: call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %{{...}}, i64 255)
; CHECK: icmp ult i64 %{{...}}, %len
; CHECK: br i1 %{{...}}, label %entry, label %{{...}}
; CHECK: %is.inside = icmp ult i64 %at, %len
; CHECK-NEXT: br label %inside
; CHECK: icmp ult i64 %{{...}}, %len
; CHECK-NEXT: br i1 %{{...}}, label %{{...}}, label %{{...}}
