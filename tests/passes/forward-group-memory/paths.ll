; Contents are known behind a branch, and not where two paths meet.
; CHECK: i32 @schism.loop
; CHECK: store i32 %a
; CHECK: yes:
; CHECK-NOT: load
; CHECK: meet:
; CHECK: load i32
; CHECK: ret i32
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare ptr @schism.local_memory(ptr)
declare void @use(i32)
define i32 @schism.loop(i32 %a, i1 %is, ptr %group) #0 {
start:
  %tile = call noalias ptr @schism.local_memory(ptr %group)
  store i32 %a, ptr %tile, align 4
  br i1 %is, label %yes, label %meet
yes:
  %b = load i32, ptr %tile, align 4
  call void @use(i32 %b)
  %c = add i32 %b, 1
  store i32 %c, ptr %tile, align 4
  br label %meet
meet:
  %d = load i32, ptr %tile, align 4
  ret i32 %d
}
attributes #0 = { "schism-cut" "schism-group-size"="16,1,1" }
