"""Writes a GGUF file again with its quantized matrices in Q8_0, and all else as it is.

    python _q8_0.py FROM.gguf DIR   (writes DIR/model.gguf)
"""

import os
import sys

import gguf
from gguf.quants import dequantize, quantize

KEPT = (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.BF16)


def copy_fields(reader, writer):
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_key_value(field.name, field.contents(), field.types[0], field.types[-1])
        elif field.name == "general.file_type":
            writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
        else:
            writer.add_key_value(field.name, field.contents(), field.types[0])


def main(source, folder):
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(os.path.join(folder, "model.gguf"), reader.fields["general.architecture"].contents())
    copy_fields(reader, writer)
    q8_0 = gguf.GGMLQuantizationType.Q8_0
    for tensor in reader.tensors:
        if tensor.tensor_type in KEPT:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            writer.add_tensor(tensor.name, quantize(dequantize(tensor.data, tensor.tensor_type), q8_0), raw_dtype=q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
