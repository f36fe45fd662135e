; A device's calls through pointers lead where the language says; their types are not checked again.
define i32 @f(ptr %function, ptr %table) {
  %good = call i1 @llvm.type.test(ptr %function, metadata !"type")
  br i1 %good, label %call, label %trap
call:
  %first = tail call zeroext i8 %function(i32 signext 7) nounwind [ "kcfi"(i32 123) ]
  %pair = call { ptr, i1 } @llvm.type.checked.load(ptr %table, i32 24, metadata !"type")
  %method = extractvalue { ptr, i1 } %pair, 0
  %second = call i32 %method() [ "kcfi"(i32 5), "deopt"(i32 1) ]
  ret i32 %second
trap:
  unreachable
}
declare i1 @llvm.type.test(ptr, metadata)
declare { ptr, i1 } @llvm.type.checked.load(ptr, i32, metadata)
; CHECK: br i1 true
; CHECK: tail call zeroext i8 %function(i32 signext 7) #
; CHECK-NEXT: getelementptr i8, ptr %table, i32 24
; CHECK-NEXT: load ptr
; CHECK: = call i32 %method() [ "deopt"(i32 1) ]
; CHECK-NOT: kcfi
; CHECK: ret i32
