; An index that is loaded at a loaded index; a field of structures; a table of known size; a part of a slice.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define i64 @twice(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %second ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %second ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %x.len
  br i1 %ok, label %first, label %panic
first:
  %place = getelementptr inbounds i64, ptr %x, i64 %at
  %next = load i64, ptr %place
  %ok.again = icmp uge i64 %next, %x.len
  br i1 %ok.again, label %panic.again, label %second
second:
  %place.again = getelementptr inbounds i64, ptr %x, i64 %next
  %value = load i64, ptr %place.again
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
panic.again:
  call void @__schism_panic(ptr null, i64 %next, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i32 @field(ptr noundef "schism.slice"="0:2" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:12" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i32 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i16, ptr %a, i64 %k
  %at = load i16, ptr %from
  %index = zext i16 %at to i64
  %ok = icmp ult i64 %index, %x.len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr inbounds { i32, i32, i32 }, ptr %x, i64 %index
  %field = getelementptr inbounds i8, ptr %place, i64 8
  %value = load i32, ptr %field
  %sum.next = add i32 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
done:
  ret i32 %sum.next
}
define i32 @table(ptr noundef "schism.slice"="0:1" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef dereferenceable(40) %x, i64 noundef %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i32 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i8, ptr %a, i64 %k
  %at = load i8, ptr %from
  %ok = icmp ult i8 %at, 10
  br i1 %ok, label %inside, label %panic
inside:
  %index = zext i8 %at to i64
  %place = getelementptr inbounds i32, ptr %x, i64 %index
  %value = load i32, ptr %place
  %sum.next = add i32 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
done:
  ret i32 %sum.next
}
define i64 @part(ptr noundef "schism.slice"="0:8" %a, i64 noundef "schism.length"="0" %a.len, ptr noundef "schism.slice"="2:8" %x, i64 noundef "schism.length"="2" %x.len, i64 noundef %begin, i64 noundef %size, i64 noundef %n) {
before:
  %x.part = getelementptr inbounds i64, ptr %x, i64 %begin
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %a, i64 %k
  %at = load i64, ptr %from
  %ok = icmp ult i64 %at, %size
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr inbounds i64, ptr %x.part, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; CHECK-LABEL: define i64 @twice
; CHECK: %19 = phi i64 [ 0, %before ], [ %26, %second ]
; CHECK-NEXT: %20 = phi i64 [ 0, %before ], [ %22, %second ]
; CHECK: %22 = call i64 @llvm.umax.i64(i64 %20, i64 %21)
; CHECK-NEXT: %23 = call i64 @llvm.umin.i64(i64 %21, i64 %17)
; CHECK: %26 = call i64 @llvm.umax.i64(i64 %19, i64 %25)
; CHECK: %30 = icmp ult i64 %22, %x.len
; CHECK-NEXT: %31 = icmp ult i64 %26, %x.len
; CHECK-NEXT: %32 = and i1 %30, %31
; CHECK-NEXT: br i1 %32, label %done
; The field is in the element that the index names.
; CHECK-LABEL: define i32 @field
; CHECK: icmp ne i64 %x.len, 0
; CHECK: call i16 @llvm.umin.i16(i16 {{...}}, i16 %17)
; CHECK: getelementptr { i32, i32, i32 }, ptr %x, i64
; CHECK-NEXT: getelementptr i8, ptr {{...}}, i64 8
; 10 elements of 4 bytes: as many as there are.
; CHECK-LABEL: define i32 @table
; CHECK: call i8 @llvm.umin.i8(i8 {{...}}, i8 9)
; CHECK: icmp ult i8 {{...}}, 10
; CHECK-LABEL: define i64 @part
; CHECK: icmp ne i64 %size, 0
; CHECK: mul i64 %begin, 8
; CHECK: mul i64 %size, 8
; CHECK: mul i64 %x.len, 8
; CHECK: call i64 @llvm.umax.i64(
