; Comes in: what is used, and what that needs from another module. Not: what is unused, what no device has, panics.
; SPEC kernel: kernel entry 0 1
; SPEC panic: panic "gone" located
; SPEC body: @table2 = external global i32 declare i32 @deep(i32) declare void @panic(ptr) @table = constant [2 x i32] [i32 7, i32 9] define i32 @near(i32 %x) "target-cpu"="x86-64" { %p = getelementptr i32, ptr @table, i32 %x  %v = load i32, ptr %p  %u = load i32, ptr @table2  %t = add i32 %u, %v  %w = call i32 @deep(i32 %t)  ret i32 %w } define void @panic_body() { ret void } define void @unused() { ret void }
; SPEC body: declare i64 @write(i32) @counter = global i64 0 @table2 = constant i32 5 define i32 @deep(i32 %x) { %c = icmp eq i32 %x, 3  br i1 %c, label %a, label %b a: call void @panic(ptr null)  unreachable b: ret i32 %x } define void @prints() { %x = call i64 @write(i32 1)  ret void } define i64 @counts() { %x = load i64, ptr @counter  ret i64 %x } define void @panic(ptr %where) { %x = call i64 @write(i32 2)  ret void }

; CHECK-NOT: @unused
; CHECK-NOT: @write
; CHECK: define void @kernel(
; CHECK: call {{.*}}@near(
; CHECK: declare void @prints()
; CHECK: declare i64 @counts()
; CHECK: define internal {{.*}}@near(i32
; CHECK: define internal {{.*}}@deep(i32
; CHECK: call void @__schism_panic(
; CHECK-NOT: target-cpu
define void @kernel(ptr %out, i32 %x) {
  %v = call i32 @near(i32 %x)
  store i32 %v, ptr %out
  call void @prints()
  %c = call i64 @counts()
  store i64 %c, ptr %out
  ret void
}

declare i32 @near(i32)
declare void @prints()
declare i64 @counts()
