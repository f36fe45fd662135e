; A level of a tree over each 32 work-items of a group of 256: the lower 16 of each add the element 16 places behind. In the other kernel the
; lower 17 do, of which one may be the work-item 240; and of a group whose size is not known nothing is known.
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define void @tree(ptr %p) "schism.block"="256,1,1" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wide = zext nneg i32 %tid to i64
  %lane = and i64 %wide, 31
  %is.lower = icmp ult i64 %lane, 16
  br i1 %is.lower, label %add, label %done
add:
  %is.inside = icmp ult i32 %tid, 240
  br i1 %is.inside, label %inside, label %panic
inside:
  store float 1.0, ptr %p
  br label %done
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
define void @more(ptr %p) "schism.block"="256,1,1" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %tid, 31
  %is.lower = icmp ult i32 %lane, 17
  br i1 %is.lower, label %add, label %done
add:
  %is.inside = icmp ult i32 %tid, 240
  br i1 %is.inside, label %inside, label %panic
inside:
  store float 1.0, ptr %p
  br label %done
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
define void @unknown(ptr %p) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %tid, 31
  %is.lower = icmp ult i32 %lane, 16
  br i1 %is.lower, label %add, label %done
add:
  %is.inside = icmp ult i32 %tid, 240
  br i1 %is.inside, label %inside, label %panic
inside:
  store float 1.0, ptr %p
  br label %done
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
; CHECK: define void @tree
; CHECK: add:
; CHECK-NOT: br i1
; CHECK: br label %inside
; CHECK: define void @more
; CHECK: br i1 %is.inside, label %inside, label %panic
; CHECK: define void @unknown
; CHECK: br i1 %is.inside, label %inside, label %panic
