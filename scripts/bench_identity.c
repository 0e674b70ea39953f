/* The peer's side of `scripts/bench`: a tritonserver backend that gives its first input back, in process.
 *
 * It is the least that such a backend can do, with the statistics that every backend reports, so that the peer is
 * measured at its best. Compiled by scripts/bench.py into libtriton_identity.so; the functions are the server's.
 */
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef struct Error Error;
typedef struct Instance Instance;
typedef struct Request Request;
typedef struct Response Response;
typedef struct Input Input;
typedef struct Output Output;

Error* TRITONBACKEND_RequestInputByIndex(Request*, uint32_t index, Input**);
Error* TRITONBACKEND_InputProperties(
    Input*, const char** name, int* datatype, const int64_t** shape, uint32_t* rank, uint64_t* size, uint32_t* buffers);
Error* TRITONBACKEND_InputBuffer(
    Input*, uint32_t index, const void** buffer, uint64_t* size, int* memory, int64_t* memory_id);
Error* TRITONBACKEND_ResponseNew(Response**, Request*);
Error* TRITONBACKEND_ResponseOutput(
    Response*, Output**, const char* name, int datatype, const int64_t* shape, uint32_t rank);
Error* TRITONBACKEND_OutputBuffer(Output*, void** buffer, uint64_t size, int* memory, int64_t* memory_id);
Error* TRITONBACKEND_ResponseSend(Response*, uint32_t flags, Error*);
Error* TRITONBACKEND_RequestRelease(Request*, uint32_t flags);
Error* TRITONBACKEND_ModelInstanceReportStatistics(
    Instance*, Request*, _Bool success, uint64_t begin, uint64_t compute_begin, uint64_t compute_end, uint64_t end);
Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    Instance*, uint64_t batch, uint64_t begin, uint64_t compute_begin, uint64_t compute_end, uint64_t end);

enum { FINAL = 1, RELEASE_ALL = 1, CPU = 0 };

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static Error* answer(Request* request, Response** response, uint64_t* rows) {
    Input* input;
    Output* output;
    const char* name;
    const int64_t* shape;
    int datatype, memory = CPU;
    uint32_t rank, buffers;
    uint64_t size, part;
    int64_t memory_id = 0;
    void* to;
    Error* error;
    if ((error = TRITONBACKEND_RequestInputByIndex(request, 0, &input))) return error;
    if ((error = TRITONBACKEND_InputProperties(input, &name, &datatype, &shape, &rank, &size, &buffers))) return error;
    if ((error = TRITONBACKEND_ResponseOutput(*response, &output, "OUTPUT0", datatype, shape, rank))) return error;
    if ((error = TRITONBACKEND_OutputBuffer(output, &to, size, &memory, &memory_id))) return error;
    for (uint32_t index = 0; index < buffers; index++) {
        const void* from;
        memory = CPU;
        if ((error = TRITONBACKEND_InputBuffer(input, index, &from, &part, &memory, &memory_id))) return error;
        memcpy(to, from, part);
        to = (char*)to + part;
    }
    *rows += rank ? (uint64_t)shape[0] : 1;
    return 0;
}

Error* TRITONBACKEND_ModelInstanceExecute(Instance* instance, Request** requests, uint32_t count) {
    uint64_t begin = now(), rows = 0;
    for (uint32_t index = 0; index < count; index++) {
        Response* response;
        Error* error;
        if ((error = TRITONBACKEND_ResponseNew(&response, requests[index]))) return error;
        error = answer(requests[index], &response, &rows);
        TRITONBACKEND_ResponseSend(response, FINAL, error);
        uint64_t end = now();
        TRITONBACKEND_ModelInstanceReportStatistics(instance, requests[index], !error, begin, begin, end, end);
        TRITONBACKEND_RequestRelease(requests[index], RELEASE_ALL);
    }
    uint64_t end = now();
    return TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, rows, begin, begin, end, end);
}
