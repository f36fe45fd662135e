; Statics and thread-local variables are the host's; what has no name of its own stays.
target triple = "x86_64-unknown-linux-gnu"
@TABLE = constant [2 x i32] [i32 3, i32 5]
@COUNT = global i64 7
@LOCAL = thread_local global i64 0
@FOREIGN = external global i8
@alloc = private unnamed_addr constant [2 x i8] c"ab"
declare ptr @llvm.threadlocal.address.p0(ptr)
declare void @host(ptr)
define void @f() {
  %own = call ptr @llvm.threadlocal.address.p0(ptr @LOCAL)
  store i64 1, ptr %own
  store i64 2, ptr @COUNT
  call void @host(ptr @TABLE)
  call void @host(ptr @alloc)
  call void @host(ptr @FOREIGN)
  call void @assembly()
  ret void
}
define void @assembly() naked {
  unreachable
}
; CHECK: @TABLE = available_externally constant [2 x i32] [i32 3, i32 5]
; CHECK: @alloc = private unnamed_addr constant
; CHECK: @COUNT = external global i64
; CHECK: define void @f()
; CHECK: %1 = call ptr @schism.thread_local.LOCAL()
; CHECK-NEXT: store i64 1, ptr %1
; CHECK: declare void @assembly()
; CHECK: declare ptr @schism.thread_local.LOCAL()
