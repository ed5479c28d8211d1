from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("challenges", "0007_language")]

    operations = [
        migrations.AlterField(
            model_name="score",
            name="metric",
            field=models.CharField(max_length=300),
        ),
        migrations.AlterField(
            model_name="score",
            name="signature",
            field=models.TextField(),
        ),
    ]
