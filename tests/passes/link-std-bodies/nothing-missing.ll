; A module that lacks nothing stays as it is.
; SPEC kernel: kernel entry 0 1
; SPEC body: define i32 @own(i32 %x) { ret i32 1 }

; CHECK: define i32 @own(i32{{.*}}#0
; CHECK: ret i32 2
; CHECK: attributes #0 = { "target-cpu"="x86-64" }
define void @kernel(ptr %out) {
  %v = call i32 @own(i32 1)
  store i32 %v, ptr %out
  ret void
}

define i32 @own(i32 %x) "target-cpu"="x86-64" {
  ret i32 2
}
